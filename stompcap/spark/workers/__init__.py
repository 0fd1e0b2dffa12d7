"""What runs on Spark's workers: each class is one `mapInArrow` function, made on the driver and sent whole.

Every task sees whole flows or whole streams, group after group, and holds a bounded number of them at a time. Rows go to files
beside the table they belong to (`stompcap.spark.sink`); only the manifest travels back.
"""
