package pgstore

import (
	"errors"
	"fmt"
	"net"
	neturl "net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// parse reads a URL. Its errors say nothing of what is in it: where a URL is
// malformed, nobody can tell which part is the password.
func parse(url string) (*pgx.ConnConfig, error) {
	const form = "want postgres://USER:PASSWORD@HOST:PORT/DATABASE; a special character of the password is written as %XX"
	u, err := neturl.Parse(url)
	switch {
	case err != nil:
		return nil, errors.New("the URL of the store cannot be read: " + form)
	case u.Scheme != "postgres" && u.Scheme != "postgresql":
		return nil, errors.New("the store has no URL of PostgreSQL: " + form)
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil { // without the URL
			return nil, fmt.Errorf("the URL of the store: %w", inner)
		}
		return nil, errors.New("the URL of the store has a setting that cannot be read")
	}
	return config, nil
}

// address names a database without its password and its settings.
func address(c *pgx.ConnConfig) string {
	u := neturl.URL{Scheme: "postgres", User: neturl.User(c.User), Path: "/" + c.Database}
	if strings.HasPrefix(c.Host, "/") {
		u.RawQuery = "host=" + c.Host
	} else {
		u.Host = net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	}
	return u.String()
}

// explain says of an error at the opening what a person can do.
func explain(c *pgx.ConnConfig, err error) error {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch answer.Code {
		case "28P01", "28000": // invalid_password, invalid_authorization_specification
			return fmt.Errorf("the server refuses user %q or the password: %s", c.User, answer.Message)
		case "3D000": // invalid_catalog_name
			return fmt.Errorf("there is no database %q; make one: createdb %s", c.Database, c.Database)
		case "42501": // insufficient_privilege
			return fmt.Errorf("user %q may not do what a store needs (CREATE on the schema): %s", c.User, answer.Message)
		}
		return err
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("there is no host %q: %w", lookup.Name, lookup)
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return fmt.Errorf("nobody answers: %w", dial)
	}
	return err
}
