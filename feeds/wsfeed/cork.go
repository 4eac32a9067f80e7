package wsfeed

import (
	"net"
	"sync"
)

// corkBytesMax is how much is held back at most before it is written.
const corkBytesMax = 64 << 10

// Listen returns a listener whose connections can hold small messages back until
// there are several, so that they cost one system call together. A server that
// serves wsfeed should accept through it.
func Listen(l net.Listener) net.Listener { return corkListener{l} }

type corkListener struct{ net.Listener }

func (l corkListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &corkConn{Conn: c}, nil
}

// corkConn writes through until it is corked.
type corkConn struct {
	net.Conn
	mu     sync.Mutex
	corked bool
	held   *[]byte // from heldPool while anything is held
}

// heldPool shares the buffers among connections: an idle one has none.
var heldPool = sync.Pool{New: func() any { b := make([]byte, 0, corkBytesMax); return &b }}

// Write implements net.Conn.
func (c *corkConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.corked {
		return c.Conn.Write(p)
	}
	if c.held == nil {
		c.held = heldPool.Get().(*[]byte)
	}
	if len(*c.held)+len(p) > corkBytesMax {
		if err := c.flush(); err != nil {
			return 0, err
		}
		if len(p) >= corkBytesMax {
			return c.Conn.Write(p)
		}
	}
	*c.held = append(*c.held, p...)
	return len(p), nil
}

func (c *corkConn) flush() error {
	if c.held == nil || len(*c.held) == 0 {
		return nil
	}
	_, err := c.Conn.Write(*c.held)
	*c.held = (*c.held)[:0]
	return err
}

// cork holds back what is written from now on.
func (c *corkConn) cork() {
	c.mu.Lock()
	c.corked = true
	c.mu.Unlock()
}

// uncork writes what was held back.
func (c *corkConn) uncork() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.corked = false
	err := c.flush()
	if c.held != nil {
		heldPool.Put(c.held)
		c.held = nil
	}
	return err
}
