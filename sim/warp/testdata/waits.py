"""Waits in many ways, and says after how many milliseconds each wait ended."""

import queue
import select
import socket
import struct
import subprocess
import threading
import time

begun = time.monotonic()


def passed(what):
    print(what, round((time.monotonic() - begun) * 1000), flush=True)


print(time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()))
time.sleep(10)
passed("sleep")
threading.Event().wait(10)
passed("event")
lock = threading.Lock()
lock.acquire()
print(lock.acquire(timeout=10))
passed("lock")
a, b = socket.socketpair()
print(select.select([a], [], [], 10))
passed("select")
threading.Timer(5, b.send, (b"x",)).start()
poll = select.poll()
poll.register(a, select.POLLIN)
print(poll.poll(10000)[0][1])
passed("poll")
a.recv(1)
epoll = select.epoll()
epoll.register(a, select.EPOLLIN)
print(epoll.poll(5))
passed("epoll")
a.settimeout(10)
try:
    a.recv(1)
except TimeoutError as e:
    print(e)
passed("timeout of a socket")
a.settimeout(None)
a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 4, 500000))
try:
    a.recv(1)
except BlockingIOError as e:
    print(e)
passed("timeout of the kernel")
threading.Timer(2, b.send, (b"x",)).start()
print(a.recv(1), struct.unpack("ll", a.getsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, 16)))
passed("a socket that is in time")
number = a.fileno()
a.close()
b.close()
a, b = socket.socketpair()
assert a.fileno() == number
threading.Timer(6, b.send, (b"y",)).start()
print(a.recv(1))
passed("another socket of its number")
threading.Timer(3, lock.release).start()
print(lock.acquire(timeout=10))
passed("released lock")
condition = threading.Condition()


def notify():
    with condition:
        condition.notify()


threading.Timer(7, notify).start()
with condition:
    print(condition.wait(10))
passed("condition")
q = queue.Queue()
threads = [threading.Thread(target=lambda n=n: (time.sleep(n), q.put(n))) for n in (3, 1, 2)]
for t in threads:
    t.start()
print([q.get(timeout=10) for _ in threads])
passed("queue")
subprocess.run(["sleep", "60"], check=True)
passed("a process of its own")
print(subprocess.run("sleep 5; (sleep 7; echo later) & wait", shell=True, capture_output=True).stdout)
passed("a shell")
try:
    subprocess.run(["sleep", "60"], timeout=20)
except subprocess.TimeoutExpired:
    pass
passed("a process that is killed")
print(time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()))
