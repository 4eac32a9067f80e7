package feeds

import "context"

// Poll returns the next delivery if there is one now, for transports that gather
// several into one write: it never waits for rows to be committed, though it may
// read a file if the subscription is behind the window. An error stays for the
// next call of Next, which is where it is reported.
func (s *Subscription) Poll(ctx context.Context) (d Delivery, ok bool) {
	d, ok, err := s.next(ctx, false)
	return d, ok && err == nil
}
