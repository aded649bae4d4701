package lockimpl

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// object is what the handles of all kinds have in common: a name on a client's server.
type object struct {
	client *Client
	name   string
	bad    error // the name's fault
}

// Name returns the object's name, which is its key.
func (o *object) Name() string { return o.name }

// query runs a read command. Its result must not be touched after an error: the command may still
// run.
func (o *object) query(ctx context.Context, cmd redis.Cmder) error {
	if err := o.begin(); err != nil {
		return err
	}
	defer o.client.work.Done()
	return o.client.process(ctx, cmd, nil)
}

// begin admits an operation, which must end with client.work.Done.
func (o *object) begin() error {
	if o.bad != nil {
		return o.bad
	}
	return o.client.begin()
}

// wrap says where err happened; nil stays nil.
func (o *object) wrap(op string, owner Owner, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Lock: o.name, Owner: owner, Err: err}
}
