"""DataFrame in, DataFrame out: bronze, silver, gold."""
