package feeds

// A frame in the window that all views have encoded is needed for its bytes only,
// as long as nobody comes who wants its rows in another form or from the middle of
// a delivery on. So the rows go, which makes room for more history; who comes
// later and needs them is behind the window there, and reads the table.

// encoded notes that a view has encoded a frame.
func (f *Feed) encoded(fr *Frame, e *encoding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.ready = e.err == nil
	if !f.win.has(fr) {
		return
	}
	f.win.grow(fr, e.bytes)
	if f.win.has(fr) && fr.Rows != nil && f.needsBytesOnly(fr) {
		f.win.replace(fr, fr.withoutRows())
	}
}

// needsBytesOnly tells whether all views have the bytes of a frame. The caller
// holds the lock.
func (f *Feed) needsBytesOnly(fr *Frame) bool {
	for _, v := range f.views {
		if v.key.enc == nil || v.key.transient || fr.encoding(v) == nil {
			return false
		}
	}
	return true
}

// encoding returns the encoding of a view, nil if it is not there. The caller holds
// the feed's lock.
func (f *Frame) encoding(v *view) *encoding {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.encs {
		if e.view == v && e.ready {
			return e
		}
	}
	return nil
}

// withoutRows returns the frame with its encodings alone. Who has the frame keeps
// it as it is.
func (f *Frame) withoutRows() *Frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Frame{
		Kind: f.Kind, At: f.At, Next: f.Next, Commit: f.Commit, Schema: f.Schema, Partition: f.Partition, Bucket: f.Bucket,
		Counts: f.Counts, rows: f.rows, seq: f.seq, before: f.before, size: f.size - rowBytes(f.Rows), encs: f.encs[:len(f.encs):len(f.encs)],
	}
}

// serves tells whether the window has what a subscription needs of the frame at a
// place, if it passes over some rows: the rows, or their bytes as its view has
// them. The caller holds the lock.
func (f *Feed) serves(s *Subscription, seq uint64, skip int) bool {
	if seq < f.win.first() || seq >= f.win.next || s.view == nil {
		return true
	}
	fr := f.win.at(seq)
	if fr.Kind == FrameCommitBegin && seq+1 < f.win.next {
		fr = f.win.at(seq + 1) // else one would come back to the begin, which is at the same position
	}
	if fr.Rows != nil || skip >= fr.n() {
		return true
	}
	if s.ahead && fr.At.Compare(s.read) < 0 {
		if fr.Next.Compare(s.read) <= 0 {
			return true // it is passed over
		}
		skip += int(s.read.Row - fr.At.Row)
	}
	to, _ := s.until.cut(fr, fr.n())
	if to <= skip {
		return true
	}
	e := fr.encoding(s.view)
	if e == nil {
		return false
	}
	_, ok := e.parts(skip, to)
	return ok
}
