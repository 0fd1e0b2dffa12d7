"""One run at a time: a file lock for a lake on disk, a lease for one on an object store."""
