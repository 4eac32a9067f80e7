package wsfeed

import (
	"net"
	"sync"
	"time"
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
	timeout time.Duration // for a write of messages; set before the first

	mu     sync.Mutex
	corked bool
	held   *[]byte     // from heldPool while anything is held
	parts  [2][]byte   // of a message on its way
	vector net.Buffers // over parts
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
	if held, err := c.hold(p, nil); held || err != nil {
		return len(p), err
	}
	return c.Conn.Write(p)
}

// WriteMessage writes a message in two parts, or holds it back. What is written
// is written within the timeout.
func (c *corkConn) WriteMessage(head, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.corked {
		if held, err := c.hold(head, body); held || err != nil {
			return err
		}
	}
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	c.parts = [2][]byte{head, body}
	c.vector = c.parts[:]
	_, err := c.vector.WriteTo(c.Conn)
	c.parts = [2][]byte{}
	return err
}

// hold holds two parts back. It makes room first, and tells whether there is
// enough.
func (c *corkConn) hold(head, body []byte) (bool, error) {
	if c.held == nil {
		c.held = heldPool.Get().(*[]byte)
	}
	n := len(head) + len(body)
	if len(*c.held)+n > corkBytesMax {
		if err := c.flush(); err != nil {
			return false, err
		}
		if n > corkBytesMax {
			return false, nil
		}
	}
	*c.held = append(append(*c.held, head...), body...)
	return true, nil
}

func (c *corkConn) flush() error {
	if c.held == nil || len(*c.held) == 0 {
		return nil
	}
	if c.timeout > 0 {
		if err := c.Conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
			return err
		}
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
