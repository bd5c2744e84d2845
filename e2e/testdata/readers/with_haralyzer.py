"""Reads a HAR with haralyzer and prints what it has of each entry, a JSON
object a line. Usage: python with_haralyzer.py FILE"""
import base64
import json
import sys

from haralyzer import HarParser


def content(response):
    if "text" not in response.raw_entry["content"]:
        return None
    if response.textEncoding == "base64":
        return response.text
    return base64.b64encode(response.text.encode()).decode()


def pairs(cookies):
    return [[c["name"], c["value"]] for c in cookies]


parser = HarParser.from_file(sys.argv[1])
for page in parser.pages:
    # What it works out of all of them.
    assert page.page_size >= 0 and page.get_total_size_trans(page.entries) >= 0 and page.hostname
    assert len(page.get_requests) + len(page.post_requests) <= len(page.entries)
    for e in page.entries:
        print(json.dumps({
            "method": e.request.method,
            "url": e.request.url,
            "requestHeaders": [[h["name"], h["value"]] for h in e.request.headers],
            "requestCookies": pairs(e.request.cookies),
            "posted": e.request.text,
            "status": e.response.status,
            "phrase": e.response.statusText,
            "headers": [[h["name"], h["value"]] for h in e.response.headers],
            "cookies": pairs(e.response.raw_entry["cookies"]),
            "type": e.response.mimeType,
            "size": e.response.contentSize,
            "wireSize": e.response.bodySize,
            "content": content(e.response),
            "time": e.time,
            "timings": e.timings,
            "server": e.serverAddress if "serverIPAddress" in e.raw_entry else "",
            "port": e.port if "connection" in e.raw_entry else 0,
            "started": e.startTime.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }))
