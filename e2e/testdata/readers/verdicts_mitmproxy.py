"""Says of each HAR named whether mitmproxy makes flows of it: a JSON object a
line, with what is said against it, or null. Usage: python verdicts_mitmproxy.py FILE..."""
import json
import sys

from mitmproxy.io.har import request_to_flow

for name in sys.argv[1:]:
    refusal = None
    try:
        with open(name, "rb") as file:
            for entry in json.loads(file.read().decode("utf-8"))["log"]["entries"]:
                request_to_flow(entry)
    except Exception as error:
        refusal = repr(error)
    print(json.dumps({"mitmproxy": refusal}))
