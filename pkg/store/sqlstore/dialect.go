package sqlstore

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
)

// A Dialect says what one database does differently. The statements of this
// package have ? or ?1, ?2 for arguments and keep to what both databases know.
type Dialect struct {
	// Numbered is true if arguments are $1, $2.
	Numbered bool
	// Prepares is true if the driver itself keeps the statements that it has prepared.
	Prepares bool
	// Together carries out statements, and after them a query whose first row it scans
	// if there is one, all in one journey to the database on a connection. Nil if
	// there is no journey. A query without a row is sql.ErrNoRows.
	Together func(ctx context.Context, on *sql.Conn, held []Statement, query *Statement, dest []any) error
	// Isolation of a transaction that writes. Each of its statements must see what was
	// committed before that statement.
	Isolation sql.IsolationLevel
	// Turn is the statement with which a transaction waits until it alone may write.
	// Empty if its beginning does that.
	Turn string
	// OpenTrials is the table of trials for questions about those that are not done,
	// which are few, and asked all the time.
	OpenTrials string
	// Arg turns an argument into what the database can hold; nil leaves it as it is.
	Arg func(any) (any, error)
	// Passes says whether an error may be gone when the same is tried again, because
	// the connection was lost. Nil means that none is of that kind.
	Passes func(error) bool
	// Shrink hands the space of what was deleted back; nil if the database does that
	// by itself.
	Shrink func(ctx context.Context) error
}

// A Statement is one with its arguments, as the database wants them.
type Statement struct {
	SQL  string
	Args []any
}

// Bytes is text as an argument that may hold any bytes, such as what a server
// said. Any other text is a name.
type Bytes string

// render writes a statement as the database wants it.
func (d *Dialect) render(query string) string {
	query = strings.ReplaceAll(query, "{open trials}", d.OpenTrials)
	if !d.Numbered {
		return query
	}
	var b strings.Builder
	next := 0
	for {
		before, after, found := strings.Cut(query, "?") // no statement has one in a literal
		b.WriteString(before)
		if !found {
			return b.String()
		}
		digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
		b.WriteByte('$')
		if digits == 0 {
			next++
			b.WriteString(strconv.Itoa(next))
		}
		query = after // with the digits
	}
}

// args turns arguments into what the database can hold.
func (d *Dialect) args(args []any) ([]any, error) {
	if d.Arg == nil {
		return args, nil
	}
	held := make([]any, len(args))
	for i, a := range args {
		var err error
		if held[i], err = d.Arg(a); err != nil {
			return nil, err
		}
	}
	return held, nil
}
