"""One run at a time: a lock beside a lake on disk, a lease in one on an object store."""
