//go:build !unix

package redisserver

import (
	"errors"
	"syscall"
)

// Elsewhere servers are taken away by Close alone.

func attached() *syscall.SysProcAttr { return nil }

type guard struct{}

func watch(string) (*guard, error) { return &guard{}, nil }
func (*guard) dismiss()            {}

func (p *process) pause() error  { return errors.ErrUnsupported }
func (p *process) resume() error { return errors.ErrUnsupported }
