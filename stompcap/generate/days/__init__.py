"""Hours of many services at one broker: a day on which nothing is wrong, and incidents planted among such traffic."""
