package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// serve runs a broker until ctx ends. What it was given outlives it in a folder.
func serve(ctx context.Context, args []string, s std) error {
	f := flag.NewFlagSet("serve", flag.ContinueOnError)
	listen := f.String("listen", "127.0.0.1:4222", "`address` to listen at; port 0: any. Nobody is asked for a password: use another address only in a network of your own")
	store := f.String("store", "fleet-store", "`folder` for what waits and what was done")
	if err := parse(f, args, s); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(*listen)
	if err != nil {
		return usage{fmt.Errorf("-listen %s: must be HOST:PORT: %w", *listen, err)}
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 0 || n > 65535 {
		return usage{fmt.Errorf("-listen %s: the port is a number from 0 to 65535", *listen)}
	}
	if n == 0 {
		n = server.RANDOM_PORT
	}
	if err := os.MkdirAll(*store, 0o777); err != nil {
		return usage{fmt.Errorf("-store %s: %w", *store, err)}
	}
	broker, err := server.NewServer(&server.Options{ServerName: "holdfast", Host: host, Port: n, JetStream: true, StoreDir: *store, MaxPayload: 1 << 20, NoSigs: true, NoLog: true})
	if err != nil {
		return fmt.Errorf("-store %s: %w", *store, err)
	}
	broker.Start()
	defer func() {
		broker.Shutdown()
		broker.WaitForShutdown()
	}()
	if !broker.ReadyForConnections(10 * time.Second) {
		return usage{errors.New("-listen " + *listen + ": it cannot be listened at, or the store cannot be read")}
	}
	fmt.Fprintf(s.out, "nats://%s\n", broker.Addr())
	<-ctx.Done()
	return nil
}
