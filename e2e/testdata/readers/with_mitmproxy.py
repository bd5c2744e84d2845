"""An addon of mitmproxy's that prints what it has of each flow, a JSON object a
line. Usage: mitmdump -q -nr FILE -s with_mitmproxy.py"""
import base64
import json


def fields(headers):
    return [[name.decode(), value.decode()] for name, value in headers.fields]


def response(flow):
    print(json.dumps({
        "method": flow.request.method,
        "path": flow.request.path,
        "posted": flow.request.get_text() or None,
        "status": flow.response.status_code,
        "headers": fields(flow.response.headers),
        "text": flow.response.get_text(strict=False),
        "content": base64.b64encode(flow.response.get_content()).decode() or None,
        "server": flow.server_conn.address[0] if flow.server_conn.address else "",
    }))
