import asyncio
import io
import sys

import aiohttp

tls, plain, proxy = sys.argv[1:]


async def talk(s, url):
    async with s.ws_connect(url, proxy=proxy, compress=15) as ws:
        await ws.send_str("one")
        assert (await ws.receive_str()) == "one"
        await ws.send_bytes(bytes(range(256)) * 400)
        assert (await ws.receive_bytes()) == bytes(range(256)) * 400
        await ws.send_json({"three": "ü"})
        assert (await ws.receive_json()) == {"three": "ü"}
        await ws.close(code=1000)


async def text(s, method, url, **more):
    async with s.request(method, url, **more) as r:
        return await r.text()


async def pieces():
    for i in range(10):
        yield b"%d" % i * 10000


async def main():
    async with aiohttp.ClientSession(trust_env=True) as s:
        for base in ("https://" + tls, "http://" + plain):
            got = await asyncio.gather(*(text(s, "GET", f"{base}/echo?n={i}") for i in range(30)))
            assert got == ["GET "] * 30
            assert await text(s, "GET", base + "/chunked") == "part 0\npart 1\npart 2\npart 3\n"
            async with s.get(base + "/coded/gzip") as r:
                assert (await r.json())["coding"] == "gzip"
            assert len(await text(s, "PUT", base + "/echo?pieces", data=pieces())) == 4 + 100000
            form = aiohttp.FormData()
            form.add_field("file", io.BytesIO(b"\xc8" * 50000), filename="bytes.bin")
            assert "bytes.bin" in await text(s, "POST", base + "/upload", data=form)
            assert await text(s, "GET", base + "/early") == "after the hints\n"
        for url in ("wss://" + tls + "/socket", "ws://" + plain + "/socket"):
            await talk(s, url)


asyncio.run(main())
print("done")
