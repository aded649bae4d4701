package lockimpl_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-sim/holdfast/lockimpl"
)

// newExampleClient stands for your own: a go-redis client of your Redis, and lockimpl.New over it.
func newExampleClient() (c *lockimpl.Client, end func()) {
	server, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	c, err = lockimpl.New(rdb, lockimpl.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return c, func() {
		c.Close()
		rdb.Close()
		server.Close()
	}
}

func Example() {
	client, end := newExampleClient()
	defer end()
	ctx := context.Background()

	lock := client.Lock("order:42")
	me := client.Owner(1) // this strand of the program
	if err := lock.Lock(ctx, me); err != nil {
		log.Fatal(err)
	}
	fmt.Println("working")
	released, err := lock.Unlock(ctx, me)
	fmt.Println(released, err)
	// Output:
	// working
	// true <nil>
}

func ExampleRLock_TryLock() {
	client, end := newExampleClient()
	defer end()
	ctx := context.Background()

	lock := client.Lock("report")
	one, other := client.Owner(1), client.Owner(2)
	ok, _ := lock.TryLock(ctx, one, lockimpl.Lease(10*time.Second))
	fmt.Println("one:", ok)
	ok, _ = lock.TryLock(ctx, other, lockimpl.Wait(20*time.Millisecond))
	fmt.Println("other:", ok)
	_, err := lock.Unlock(ctx, other)
	fmt.Println(errors.Is(err, lockimpl.ErrNotHeld))
	// Output:
	// one: true
	// other: false
	// true
}

// Work that must not go on without the lock runs under its context.
func ExampleRLock_HoldContext() {
	client, end := newExampleClient()
	defer end()
	ctx := context.Background()

	lock, me := client.Lock("account:7"), client.Owner(1)
	if err := lock.Lock(ctx, me, lockimpl.Lease(20*time.Millisecond)); err != nil {
		log.Fatal(err)
	}
	work, cancel := lock.HoldContext(ctx, me)
	defer cancel()
	<-work.Done() // the lease ends while we work
	fmt.Println(errors.Is(context.Cause(work), lockimpl.ErrLost))
	// Output: true
}

func ExampleMultiLock() {
	client, end := newExampleClient()
	defer end()
	ctx := context.Background()

	both, err := lockimpl.NewMultiLock(client.Lock("account:7"), client.Lock("account:9"))
	if err != nil {
		log.Fatal(err)
	}
	me := client.Owner(1)
	if err := both.Lock(ctx, me); err != nil {
		log.Fatal(err)
	}
	unlocked, err := both.Unlock(ctx, me)
	fmt.Println(unlocked, err)
	// Output: 2 <nil>
}

func ExampleFencedLock() {
	client, end := newExampleClient()
	defer end()
	ctx := context.Background()

	lock, me := client.FencedLock("ledger"), client.Owner(1)
	for range 2 {
		token, err := lock.LockAndGetToken(ctx, me)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("write with token", token) // the ledger refuses tokens below its highest
		lock.Unlock(ctx, me)
	}
	// Output:
	// write with token 1
	// write with token 2
}

func ExampleRedLock() {
	var locks []*lockimpl.RLock
	for range 3 { // three independent servers
		client, end := newExampleClient()
		defer end()
		locks = append(locks, client.Lock("leader"))
	}
	ctx := context.Background()
	lock, err := lockimpl.NewRedLock(locks...)
	if err != nil {
		log.Fatal(err)
	}
	const me = lockimpl.Owner("instance-1:1")
	if err := lock.Lock(ctx, me, lockimpl.Lease(10*time.Second)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(lock.Until(me).After(time.Now()))
	unlocked, err := lock.Unlock(ctx, me)
	fmt.Println(unlocked, err)
	// Output:
	// true
	// 3 <nil>
}

func ExampleSemaphore() {
	client, end := newExampleClient()
	defer end()
	ctx := context.Background()

	workers := client.Semaphore("workers")
	if _, err := workers.TrySetPermits(ctx, 3); err != nil { // whoever comes first sets them
		log.Fatal(err)
	}
	if err := workers.Acquire(ctx, 2); err != nil {
		log.Fatal(err)
	}
	ok, err := workers.TryAcquire(ctx, 2, lockimpl.Wait(20*time.Millisecond))
	fmt.Println(ok, err)
	if err := workers.Release(ctx, 2); err != nil {
		log.Fatal(err)
	}
	free, err := workers.AvailablePermits(ctx)
	fmt.Println(free, err)
	// Output:
	// false <nil>
	// 3 <nil>
}

// A count-down whose outcome is unknown can be repeated under its id: both count as one.
func ExampleRequestID() {
	client, end := newExampleClient()
	defer end()
	ctx := context.Background()

	latch := client.CountDownLatch("shards")
	if _, err := latch.TrySetCount(ctx, 3); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		if err := latch.CountDown(ctx, lockimpl.RequestID("shard 7 is done")); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(latch.Count(ctx))
	// Output: 2 <nil>
}

func ExampleCountDownLatch() {
	client, end := newExampleClient()
	defer end()
	ctx := context.Background()

	latch := client.CountDownLatch("ready")
	if _, err := latch.TrySetCount(ctx, 2); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		go latch.CountDown(ctx)
	}
	fmt.Println(latch.Await(ctx))
	// Output: <nil>
}

// Who writes may go on to read without letting another writer in.
func ExampleReadWriteLock() {
	client, end := newExampleClient()
	defer end()
	ctx := context.Background()

	lock := client.ReadWriteLock("catalogue")
	me, other := client.Owner(1), client.Owner(2)
	if err := lock.WriteLock().Lock(ctx, me); err != nil {
		log.Fatal(err)
	}
	if err := lock.ReadLock().Lock(ctx, me); err != nil {
		log.Fatal(err)
	}
	if _, err := lock.WriteLock().Unlock(ctx, me); err != nil { // a downgrade
		log.Fatal(err)
	}
	reads, _ := lock.ReadLock().TryLock(ctx, other)
	writes, _ := lock.WriteLock().TryLock(ctx, client.Owner(3))
	fmt.Println(reads, writes)
	// Output: true false
}

// Who asks without waiting does not pass those who wait.
func ExampleFairLock() {
	client, end := newExampleClient()
	defer end()
	ctx := context.Background()

	lock, me, other := client.FairLock("turnstile"), client.Owner(1), client.Owner(2)
	if err := lock.Lock(ctx, me); err != nil {
		log.Fatal(err)
	}
	ok, err := lock.TryLock(ctx, other, lockimpl.Wait(20*time.Millisecond)) // it waits, and leaves the queue
	fmt.Println(ok, err)
	released, err := lock.Unlock(ctx, me)
	fmt.Println(released, err)
	// Output:
	// false <nil>
	// true <nil>
}

// A permit whose holder dies comes back when its lease is over.
func ExamplePermitExpirableSemaphore() {
	client, end := newExampleClient()
	defer end()
	ctx := context.Background()

	sockets := client.PermitExpirableSemaphore("sockets")
	if _, err := sockets.TrySetPermits(ctx, 2); err != nil {
		log.Fatal(err)
	}
	permit, err := sockets.Acquire(ctx, lockimpl.Lease(time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sockets.AvailablePermits(ctx))
	fmt.Println(sockets.Release(ctx, permit))
	fmt.Println(errors.Is(sockets.Release(ctx, permit), lockimpl.ErrNotHeld))
	// Output:
	// 1 <nil>
	// <nil>
	// true
}

func ExampleSpinLock() {
	client, end := newExampleClient()
	defer end()
	ctx := context.Background()

	lock, me := client.SpinLock("row:42"), client.Owner(1)
	ok, err := lock.TryLock(ctx, me, lockimpl.Wait(time.Second))
	fmt.Println(ok, err)
	released, err := lock.Unlock(ctx, me)
	fmt.Println(released, err)
	// Output:
	// true <nil>
	// true <nil>
}
