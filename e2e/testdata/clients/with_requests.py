import io
import sys

import requests

tls, plain, _ = sys.argv[1:]
with requests.Session() as s:
    for base in ("https://" + tls, "http://" + plain):
        assert s.get(base + "/coded/gzip").json()["coding"] == "gzip"
        assert s.get(base + "/coded/deflate").json()["coding"] == "deflate"
        assert s.post(base + "/echo?json", json={"name": "ü"}).text == 'POST {"name": "\\u00fc"}'
        assert s.post(base + "/echo?chunked", data=(b"x" * 10000 for _ in range(20))).text == "POST " + "x" * 200000
        assert s.head(base + "/echo?head").headers["Content-Length"] == "5"
        r = s.get(base + "/moved")
        assert r.json() == {"landed": "redirect"} and len(r.history) == 1
        assert s.get(base + "/status/404").status_code == 404
        assert s.delete(base + "/echo", params={"to": "a b&ü"}).text == "DELETE "
        assert s.get(base + "/status/204").content == b""
        with s.get(base + "/large?size=2500000", stream=True) as r:
            assert sum(len(b) for b in r.iter_content(7919)) == 2500000
        r = s.post(base + "/upload", files={"file": ("bytes ü.bin", io.BytesIO(b"\xc8" * 50000))}, data={"remark": "a+b"})
        assert len(r.json()) == 2
# And without a session, a connection for each.
assert requests.get("https://" + tls + "/echo?alone").text == "GET "
print("done")
