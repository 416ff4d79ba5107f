"""Make the bucket named on the command line, if it is not there, in the S3 store of the
settings."""

import sys

import boto3

from reclock.config import Settings


def main(bucket: str) -> None:
    settings = Settings.load()
    store = boto3.client(
        "s3",
        endpoint_url=settings.s3_endpoint or None,
        region_name=settings.s3_region,
        aws_access_key_id=settings.s3_access_key_id or None,
        aws_secret_access_key=settings.s3_secret_access_key.get_secret_value() or None,
    )
    if bucket not in {found["Name"] for found in store.list_buckets()["Buckets"]}:
        store.create_bucket(Bucket=bucket)


if __name__ == "__main__":
    main(sys.argv[1])
