"""Exit with 0 if the URL on the command line answers, with the certificate that follows it. With the
name of a component of Airflow instead of a certificate, also ask that the answer calls it healthy."""

import json
import ssl
import sys
from urllib.request import urlopen

if __name__ == "__main__":
    url, certificate_or_component = sys.argv[1:]
    is_encrypted = url.startswith("https:")
    context = ssl.create_default_context(cafile=certificate_or_component) if is_encrypted else None
    with urlopen(url, timeout=8, context=context) as answer:  # noqa: S310
        if not is_encrypted:
            status = json.load(answer)[certificate_or_component]["status"]
            sys.exit(0 if status == "healthy" else f"{certificate_or_component} is {status}")
