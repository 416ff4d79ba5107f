"""Exit with 0 if the URL on the command line answers, with the certificate that follows it."""

import ssl
import sys
from urllib.request import urlopen

if __name__ == "__main__":
    url, certificate = sys.argv[1:]
    urlopen(url, timeout=8, context=ssl.create_default_context(cafile=certificate)).close()  # noqa: S310
