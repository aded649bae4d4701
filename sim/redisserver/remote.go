package redisserver

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Remote is a server that is not ours, found fit for use.
type Remote struct {
	name    string
	is      Software
	options *redis.Options
}

// Needs are what a server that is not ours must offer.
type Needs struct {
	// AtLeast is the oldest version that will do, as "6.2". Default: any.
	AtLeast string

	// TLS is for rediss://.
	TLS TLS

	// Prefix begins the name of the key that is written, and removed, to see whether it takes
	// writes.
	Prefix string
}

// TLS names files in PEM, of which any may be "".
type TLS struct {
	CA        string `json:"ca,omitzero"` // of authorities to trust, instead of the machine's
	Cert, Key string `json:",omitzero"`   // of the client
}

// config adds what the files say.
func (t TLS) config(c *tls.Config) error {
	if t == (TLS{}) {
		return nil
	}
	if c == nil {
		return errors.New("certificates are for rediss://, and this is another address")
	}
	if t.CA != "" {
		text, err := readPEM(t.CA)
		if err != nil {
			return err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("%s: there is no certificate in it", t.CA)
		}
	}
	if t.Cert == "" && t.Key == "" {
		return nil
	}
	cert, err := readPEM(t.Cert)
	if err != nil {
		return err
	}
	key, err := readPEM(t.Key)
	if err != nil {
		return err
	}
	own, err := tls.X509KeyPair(cert, key)
	c.Certificates = []tls.Certificate{own}
	return err
}

// mostPEM is the length of a file with certificates, in bytes, that is taken for a mistake.
const mostPEM = 8 << 20

// readPEM reads a file with certificates. It is read more than once, which a pipe cannot be.
func readPEM(name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: it is no regular file", name)
	case info.Size() > mostPEM:
		return nil, fmt.Errorf("%s: it is longer than %d MiB", name, mostPEM>>20)
	}
	return os.ReadFile(name)
}

// answerTime bounds how long a server that is not ours may take to answer.
const answerTime = 5 * time.Second

// Connect looks over the server at redis://user:password@host:port/db or, with TLS, rediss://, or at unix://user:password@/path?db=N: that
// it answers, lets us in, is no replica, Sentinel or Cluster node, is new enough, and takes writes.
// An error says in one line what is not so; it names the server as [Remote.Name] does.
func Connect(ctx context.Context, address string, n Needs) (*Remote, error) {
	quiet()
	o, name, err := parse(address)
	if err == nil {
		err = n.TLS.config(o.TLSConfig)
	}
	if err != nil {
		return nil, err
	}
	r := &Remote{name: name, options: o}
	client := redis.NewClient(r.RedisOptions())
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := r.look(ctx, client, n); err != nil {
		text := err.Error()
		if o.TLSConfig != nil && ctx.Err() != nil {
			text += "; perhaps it does not speak TLS: redis:// rather than rediss://"
		}
		return nil, fmt.Errorf("%s: %s", name, text)
	}
	return r, nil
}

// Name is the server's address without the password.
func (r *Remote) Name() string { return r.name }

// Software is what the server says that it is.
func (r *Remote) Software() Software { return r.is }

// RedisOptions are what a client needs to connect to it, the password among them.
func (r *Remote) RedisOptions() *redis.Options {
	o := *r.options
	return &o
}

// secret reports whether the password is in what others say. Taken out of it, it would show by what is missing.
func (r *Remote) secret(text string) bool {
	return r.options.Password != "" && strings.Contains(text, r.options.Password)
}

// CheckAddress says what is wrong with an address as of [Connect], as far as it shows without a server.
func CheckAddress(address string, t TLS) error {
	o, _, err := parse(address)
	if err == nil {
		err = t.config(o.TLSConfig)
	}
	return err
}

// parse reads an address. Its errors do not quote it, since nobody knows where in it the password is.
func parse(address string) (o *redis.Options, name string, err error) {
	const right = "it must be redis://user:password@host:port/db, rediss:// for TLS, or unix://user:password@/path?db=N; special characters in the password as %XX"
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, "", errors.New("the address of the server cannot be read: " + right)
	case u.Scheme == "unix" && u.Host == "" && u.Path != "" && u.Fragment == "":
		return parseSocket(address, u)
	case u.Scheme != "redis" && u.Scheme != "rediss", u.Host == "":
		return nil, "", errors.New("the address of the server is incomplete or of another kind: " + right)
	}
	db := strings.Trim(u.Path, "/")
	if n, err := strconv.Atoi(db); db != "" && (err != nil || n < 0) {
		return nil, "", errors.New("the address of the server names a database that is no number: " + right)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, "", errors.New("the address of the server has a query or fragment, which nobody heeds: " + right)
	}
	parsed, err := redis.ParseURL(address)
	if err != nil {
		return nil, "", errors.New("the address of the server cannot be read: " + right)
	}
	o = plainOptions()
	o.Addr, o.Username, o.Password, o.DB, o.TLSConfig = parsed.Addr, parsed.Username, parsed.Password, parsed.DB, parsed.TLSConfig
	return o, shown(u, o, url.URL{Host: o.Addr, Path: u.Path}), nil
}

// parseSocket reads the address of a socket of this machine.
func parseSocket(address string, u *url.URL) (o *redis.Options, name string, err error) {
	parsed, err := redis.ParseURL(address)
	if query := u.Query(); err != nil || len(query) > 1 || len(query) == 1 && !query.Has("db") {
		return nil, "", errors.New("the address of the server cannot be read: it must be unix://user:password@/path?db=N")
	}
	o = plainOptions()
	o.Network, o.Addr, o.Username, o.Password, o.DB = "unix", parsed.Addr, parsed.Username, parsed.Password, parsed.DB
	return o, shown(u, o, url.URL{Path: u.Path, RawQuery: u.RawQuery}), nil
}

// shown is an address without what is secret: a user without a password may be a password without a user.
func shown(u *url.URL, o *redis.Options, rest url.URL) string {
	who := ""
	switch {
	case u.User == nil:
	case o.Password == "":
		who = "***@"
	default:
		who = url.User(o.Username).String() + ":***@"
	}
	return u.Scheme + "://" + who + strings.TrimPrefix(rest.String(), "//")
}

// plainOptions send nothing that was not asked for.
func plainOptions() *redis.Options {
	return &redis.Options{
		MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// quiet has go-redis not print that a server is down, which we say ourselves or wait out; it knows
// only one logger for all clients.
var quiet = sync.OnceFunc(logging.Disable)

// look returns what is wrong with the server.
func (r *Remote) look(ctx context.Context, client *redis.Client, n Needs) error {
	if err := client.Ping(ctx).Err(); err != nil {
		return r.plainly(err)
	}
	info, err := infoOf(ctx, client, "all")
	if err != nil {
		return r.plainly(err)
	}
	r.is = softwareOf(info)
	switch {
	case info["redis_mode"] == "sentinel":
		return errors.New("this is a Sentinel; give the address of the master that it watches")
	case info["cluster_enabled"] == "1":
		return errors.New("this is a node of a Cluster; give the address of a server that stands alone")
	case info["role"] != "master":
		return fmt.Errorf("this is a replica, which takes no writes; its master is %s",
			net.JoinHostPort(info["master_host"], info["master_port"]))
	case older(info[versionOfRedis], n.AtLeast):
		return tooOld("the server", info[versionOfRedis], n.AtLeast)
	}
	key := n.Prefix + "probe:" + rand.Text()
	if err := client.Set(ctx, key, "", time.Second).Err(); err != nil {
		return r.plainly(err)
	}
	if err := client.Del(ctx, key).Err(); err != nil {
		return r.plainly(err)
	}
	return nil
}

// plainly says what an error means to somebody who gave an address.
func (r *Remote) plainly(err error) error {
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	text := err.Error()
	begins := func(prefixes ...string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(text, p) {
				return true
			}
		}
		return false
	}
	what := ""
	switch {
	case begins("WRONGPASS", "ERR invalid password", "ERR Client sent AUTH, but no password is set"), strings.Contains(text, "without any password configured"):
		what = "the server refuses this user or password"
	case begins("NOAUTH"):
		what = "the server wants a password"
	case begins("NOPERM"):
		what = "this user may not do what is needed"
	case begins("LOADING"):
		what = "the server is still loading its data; try again later"
	case begins("MISCONF"):
		what = "the server takes no writes, because it cannot save its data"
	case begins("READONLY"):
		what = "the server takes no writes"
	case begins("OOM"):
		what = "the server takes no writes, because its memory is full"
	case begins("NOREPLICAS"):
		what = "the server takes no writes, because it has too few replicas"
	case begins("ERR DB index is out of range"), begins("ERR invalid DB index"):
		what = "the server has no database of that number"
	case errors.Is(err, syscall.ECONNREFUSED):
		what = "nobody listens there"
	case errors.As(err, &dns):
		what = "there is no host of that name"
	case errors.As(err, &unknown):
		what = "its certificate is signed by an authority that this machine does not know"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		what = "no answer in time"
	default:
		what = "no Redis server that can be used"
	}
	line, _, _ := strings.Cut(text, "\n")
	if r.secret(line) {
		return errors.New(what)
	}
	return fmt.Errorf("%s (%s)", what, line)
}

// infoOf reads a section of INFO.
func infoOf(ctx context.Context, client *redis.Client, section string) (map[string]string, error) {
	text, err := client.Info(ctx, section).Result()
	if err != nil {
		return nil, err
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info, nil
}

// Software is a program and its version, as "redis-server" and "7.0.15", or "valkey-server" and "9.1.2".
type Software struct{ Name, Version string }

func (s Software) String() string { return s.Name + " " + s.Version }

// versionOfRedis is the line of INFO that all of them have: for others, the Redis that they are like.
const versionOfRedis = "redis_version"

// SoftwareOf asks a server what it is.
func SoftwareOf(ctx context.Context, client *redis.Client) (Software, error) {
	info, err := infoOf(ctx, client, "server")
	return softwareOf(info), err
}

// softwareOf reads it from INFO. Redis gives itself no name.
func softwareOf(info map[string]string) Software {
	if name := info["server_name"]; name != "" && info[name+"_version"] != "" {
		return Software{name + "-server", info[name+"_version"]}
	}
	return Software{"redis-server", info[versionOfRedis]}
}

// older reports whether a version comes before another; every one comes after "".
func older(version, least string) bool {
	have, want := numbers(version), numbers(least)
	for i, n := range want {
		switch {
		case i >= len(have) || have[i] < n:
			return true
		case have[i] > n:
			return false
		}
	}
	return false
}

func numbers(version string) []int {
	if version == "" {
		return nil
	}
	var list []int
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part)
		list = append(list, n)
	}
	return list
}

func tooOld(what, version, least string) error {
	return fmt.Errorf("%s is version %s, but version %s or later is needed", what, version, least)
}
