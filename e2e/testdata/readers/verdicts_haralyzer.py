"""Says of each HAR named whether haralyzer has all its entries on some page: a
JSON object a line, with what is said against it, or null.
Usage: python verdicts_haralyzer.py FILE..."""
import json
import sys

from haralyzer import HarParser

for name in sys.argv[1:]:
    refusal = None
    try:
        parser = HarParser.from_file(name)
        found = sum(len(page.entries) for page in parser.pages)
        if found < len(parser.har_data["entries"]):
            refusal = f"{found} entries"
    except Exception as error:
        refusal = repr(error)
    print(json.dumps({"haralyzer": refusal}))
