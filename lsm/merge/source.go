package merge

import (
	"errors"
	"io"

	"sluice/paimon/rowdata"
)

// Source is a run of records sorted by key. Several records of a key are
// allowed; they follow one another in merge order.
type Source interface {
	// Next resets dst and fills it with the next records of the run. It
	// returns how many there are, and 0 and io.EOF at the end. A batch of 0
	// records without an error is allowed. The records are the caller's until
	// it calls Next with the same dst again.
	Next(dst *rowdata.KeyValues) (int, error)
}

// Chain is a source made of others that follow one another in key order: the
// files of one sorted run. Only one of them is open at a time.
type Chain struct {
	open  []func() (Source, error)
	cur   Source
	level int32
}

// NewChain returns the source of all records of what the functions open, in
// that order. A source that is an io.Closer is closed at its end.
func NewChain(open ...func() (Source, error)) *Chain { return &Chain{open: open} }

// Next implements [Source].
func (c *Chain) Next(dst *rowdata.KeyValues) (int, error) {
	for {
		if c.cur == nil {
			if len(c.open) == 0 {
				dst.Reset()
				return 0, io.EOF
			}
			s, err := c.open[0]()
			if err != nil {
				return 0, err
			}
			c.cur, c.open = s, c.open[1:]
		}
		n, err := c.cur.Next(dst)
		if err == nil && n > 0 {
			if leveled, ok := c.cur.(LeveledSource); ok {
				c.level = leveled.Level()
			}
			return n, nil
		}
		if err == io.EOF {
			err = c.closeCurrent()
		}
		if err != nil {
			return 0, err
		}
	}
}

// Level implements [LeveledSource]; it is 0 if what is chained has no levels.
func (c *Chain) Level() int32 { return c.level }

// Close closes what is open; what follows is not opened any more.
func (c *Chain) Close() error {
	c.open = nil
	return c.closeCurrent()
}

func (c *Chain) closeCurrent() error {
	s := c.cur
	c.cur = nil
	return closeSource(s)
}

func closeSource(s Source) error {
	if closer, ok := s.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// closeAll closes the sources that can be closed and joins their errors.
func closeAll(sources []Source) error {
	var errs []error
	for _, s := range sources {
		errs = append(errs, closeSource(s))
	}
	return errors.Join(errs...)
}
