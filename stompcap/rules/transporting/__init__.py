"""Rules of the layers between TCP and STOMP. Each is judged once a connection and side, when all of the connection is there."""
