import asyncio
import sys

from websockets.asyncio.client import connect
from websockets.sync.client import connect as connect_sync

tls, plain, _ = sys.argv[1:]
long = "0123456789" * 10000


async def main():
    for url in ("wss://" + tls + "/socket", "ws://" + plain + "/socket"):
        async with connect(url) as ws:  # the proxy is the environment's
            for message in ("one", long.encode(), long):
                await ws.send(message)
                assert await ws.recv() == message


asyncio.run(main())
# Not over TLS: its thread reads while this one writes, and Python 3.11's ssl then hangs
# now and then, without a proxy too.
with connect_sync("ws://" + plain + "/socket") as ws:
    for message in ("one", ["in ", "three ", "fragments"], "three"):
        ws.send(message)
        assert ws.recv() == "".join(message)
print("done")
