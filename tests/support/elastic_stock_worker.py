# SPDX-License-Identifier: Apache-2.0
"""A stand-in for an elastic worker of Horovod 0.28.1 with Gloo: it says to the rendezvous what such a worker says, and its
notification service takes and sends the same bytes. Usage: elastic_stock_worker.py FOLDER

It prints "rank R of SIZE worker W pid P local L of N across C of M" for each world. It leaves a world when a peer is lost or when
rank 0 was notified, and then asks for its next place. FOLDER/end: it ends well. FOLDER/hold.W: it waits before it comes."""
import base64
import hashlib
import hmac
import http.client
import os
import pickle
import select
import socket
import struct
import sys
import threading
import time

folder = sys.argv[1]
host, worker = os.environ["HOROVOD_HOSTNAME"], os.environ["HVD_WORKER"]
server = (os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"], int(os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"]))
names = ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")
key = os.urandom(32)
notices = []


def pickled(module, name, rest=b""):
    """An object of a class without arguments, as cloudpickle writes it."""
    body = b"\x8c%c%s\x94\x8c%c%s\x94\x93\x94)\x81\x94%s." % (len(module), module, len(name), name, rest)
    return b"\x80\x05\x95" + struct.pack("<Q", len(body)) + body


NETWORK, WORKER = b"horovod.runner.common.util.network", b"horovod.runner.elastic.worker"
PING, ACK = pickled(NETWORK, b"PingRequest"), pickled(NETWORK, b"AckResponse")
PONG = pickled(NETWORK, b"PingResponse", b"}\x94(\x8c\x0cservice_name\x94\x8c\x1bworker notification service\x94"
               b"\x8c\x0esource_address\x94\x8c\x09127.0.0.1\x94ub")


def updated(seconds, result):
    return pickled(WORKER, b"HostsUpdatedRequest", b"}\x94(\x8c\x09timestamp\x94J" + seconds +
                   b"\x8c\x03res\x94h\x00\x8c\x10HostUpdateResult\x94\x93\x94K%c\x85\x94R\x94ub" % result)


def exactly(connection, count):
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise ConnectionError("closed")
        data += piece
    return data


def serve(listener):
    while True:
        connection, _ = listener.accept()
        with connection:
            proof, length = exactly(connection, 32), struct.unpack("<i", exactly(connection, 4))[0]
            body = exactly(connection, length)
            if not hmac.compare_digest(proof, hmac.new(key, body, hashlib.sha256).digest()):
                continue
            at = body.find(b"timestamp\x94J")
            if body == PING:
                answer = PONG
            elif at > 0 and body == updated(body[at + 11:at + 15], 3):
                answer = ACK
                notices.append(body[at + 11:at + 15])
            else:
                print("unknown notice", body, flush=True)
                continue
            connection.sendall(hmac.new(key, answer, hashlib.sha256).digest() + struct.pack("<i", len(answer)) + answer)


def ask(method, path, body=None, again=False):
    while True:
        connection = http.client.HTTPConnection(*server)
        connection.request(method, path, body)
        reply = connection.getresponse()
        data = reply.read()
        connection.close()
        if reply.status == 200 or not (again and reply.status == 404):
            return reply.status, data


def meet(place):
    """Links to all others of the world, or an OSError when one of them is lost."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        if ask("PUT", "/global/%d" % place["RANK"], b"%d" % listener.getsockname()[1])[0] != 200:
            print("refused worker %s" % worker, flush=True)
            sys.exit(1)
        ports = [int(ask("GET", "/global/%d" % rank, again=True)[1]) for rank in range(place["SIZE"])]
        links = [socket.create_connection(("127.0.0.1", port)) for port in ports[:place["RANK"]]]
        links += [listener.accept()[0] for _ in ports[place["RANK"] + 1:]]
        for link in links: # nobody goes on before all are linked
            link.sendall(b"+")
        for link in links:
            exactly(link, 1)
    ask("DELETE", "/global/%d" % place["RANK"])
    return links


def ended():
    return os.path.exists(folder + "/end")


def stay(place, links):
    """Until a peer is lost or the hosts have changed."""
    while not ended():
        ready = select.select(links, [], [], 0.02)[0]
        if any(not link.recv(1) or True for link in ready):
            return
        if place["RANK"] == 0 and notices:
            return


def reset(place):
    answer = ask("GET", "/rank_and_size/%s:%d" % (host, place["LOCAL_RANK"]))
    numbers = [int(number) for number in answer[1].split(b",")]
    if answer[0] != 200 or numbers[0] < 0:
        print("removed worker %s (%d)" % (worker, answer[0]), flush=True)
        os.abort()
    return dict(zip(names, numbers))


def main():
    place = {name: int(os.environ["HOROVOD_" + name]) for name in names}
    service = socket.create_server(("127.0.0.1", 0), backlog=64)
    threading.Thread(target=serve, args=(service,), daemon=True).start()
    listens = base64.b64encode(pickle.dumps(({"lo": [("127.0.0.1", service.getsockname()[1])]}, key), 5))
    first = True
    while os.path.exists("%s/hold.%s" % (folder, worker)):
        time.sleep(0.02)
    while not ended():
        links = []
        try:
            links = meet(place)
            print("rank %d of %d worker %s pid %d local %d of %d across %d of %d" % (
                place["RANK"], place["SIZE"], worker, os.getpid(), place["LOCAL_RANK"], place["LOCAL_SIZE"],
                place["CROSS_RANK"], place["CROSS_SIZE"]), flush=True)
            if first:
                ask("PUT", "/worker_addresses/%s:%d" % (host, place["LOCAL_RANK"]), listens)
            first = False
            stay(place, links)
        except OSError:
            pass
        notices.clear()
        for link in links:
            link.close()
        if not ended():
            place = reset(place)
    print("done with worker %s" % worker, flush=True)


main()
