"""Holds many slow connections open against a server; one JSON line at the end says how each kind ended.

Usage: _slow_clients.py PORT KEY COUNT SECONDS
Four kinds take turns: `header` and `body` dribble a byte a second, `silent` sends nothing, `deaf` asks and never reads.
A line "ready" is printed when all have connected or were turned away.
"""
import asyncio
import collections
import json
import resource
import socket
import sys
import time

DEAF = 10  # of them all: their answers fill kernel buffers
KINDS = ("header", "body", "silent")


class Crowd:
    def __init__(self, port, key, count, seconds):
        self.port, self.key, self.count = port, key, count
        self.until = time.monotonic() + seconds
        self.ends = {kind: collections.Counter() for kind in (*KINDS, "deaf")}
        self.connected, self.ready = 0, asyncio.Event()
        self.door = asyncio.Semaphore(100)  # connecting at once: below any listen backlog

    def arrived(self):
        self.connected += 1
        if self.connected == self.count:
            self.ready.set()

    async def one(self, number):
        kind = "deaf" if number < DEAF else KINDS[number % len(KINDS)]
        loop = asyncio.get_running_loop()
        sock = socket.socket()
        sock.setblocking(False)
        if kind == "deaf":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            async with self.door:
                await asyncio.wait_for(loop.sock_connect(sock, ("127.0.0.1", self.port)), 10)
        except (OSError, asyncio.TimeoutError):
            self.ends[kind]["refused"] += 1
            sock.close()
            return
        finally:
            self.arrived()
        try:
            end = await (self.deaf(loop, sock) if kind == "deaf" else self.dribble(loop, sock, kind))
        except OSError:
            end = "closed"
        self.ends[kind][end] += 1
        sock.close()

    async def dribble(self, loop, sock, kind):
        start = {"header": "POST /v1/assessments HTTP/1.1\r\nHost: t\r\nX-Slow: ",
                 "body": f"POST /v1/assessments HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {self.key}\r\n"
                         "Content-Length: 1000\r\n\r\n", "silent": ""}[kind]
        if start:
            await loop.sock_sendall(sock, start.encode())
        answer = asyncio.ensure_future(self.read_to_end(loop, sock))
        while not answer.done() and time.monotonic() < self.until:
            if start:
                await loop.sock_sendall(sock, b" ")
            await asyncio.wait((answer,), timeout=1)
        if not answer.done():
            answer.cancel()
            return "open"
        text = answer.result()
        return text[9:12].decode() if text.startswith(b"HTTP/1.1 ") else "closed"

    @staticmethod
    async def read_to_end(loop, sock):
        text = b""
        try:
            while piece := await loop.sock_recv(sock, 4096):
                text += piece
        except OSError:
            pass
        return text

    async def deaf(self, loop, sock):
        """Sends requests until no more are taken; then waits to be cut off, without reading."""
        ask = f"GET /metrics HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {self.key}\r\n\r\n".encode()
        try:
            while time.monotonic() < self.until:
                await asyncio.wait_for(loop.sock_sendall(sock, ask), 1)
                await asyncio.sleep(0.005)
        except asyncio.TimeoutError:
            pass
        while time.monotonic() < self.until:
            await asyncio.sleep(0.5)
            try:
                sock.send(b"G")  # fails once the server has closed: nothing else tells without reading
            except BlockingIOError:
                pass
        return "open"


async def main():
    port, key, count, seconds = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    crowd = Crowd(port, key, count, seconds)
    work = asyncio.gather(*(crowd.one(number) for number in range(count)))
    await crowd.ready.wait()
    print("ready", flush=True)
    await work
    print(json.dumps(crowd.ends), flush=True)


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(main())
