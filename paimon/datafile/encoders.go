package datafile

import (
	"io"
	"slices"

	"sluice/paimon/datafile/pqt"
)

// Encoders keeps the memory of files that are complete for the next ones, see
// [Options]. The zero value is ready. It is not safe for concurrent use.
type Encoders struct{ spare []spareEncoder }

const (
	// sparesMax is how many are kept: one for data files, one for changelog.
	sparesMax = 2
	// spareBytesMax bounds what a kept encoder holds in memory.
	spareBytesMax = 8 << 20
)

// spareEncoder is an encoder of files of these columns, written in this way.
type spareEncoder struct {
	layout Layout
	opts   pqt.Options
	enc    *pqt.Writer
}

func (s *spareEncoder) fits(l Layout, o pqt.Options) bool {
	return s.opts == o && s.layout.Schema == l.Schema && s.layout.Thin == l.Thin && (s.layout.Key == nil) == (l.Key == nil) && slices.Equal(s.layout.Key, l.Key)
}

// take returns an encoder that writes to w; nil if none that fits is left.
func (e *Encoders) take(w io.Writer, l Layout, o pqt.Options) *pqt.Writer {
	if e == nil {
		return nil
	}
	for i := range e.spare {
		if s := e.spare[i]; s.fits(l, o) {
			e.spare = slices.Delete(e.spare, i, i+1)
			s.enc.Reset(w)
			return s.enc
		}
	}
	return nil
}

// keep takes back the encoder of a file that is complete.
func (e *Encoders) keep(enc encoder, p *plan) {
	w, ok := enc.(*pqt.Writer)
	if e == nil || !ok {
		return
	}
	w.Reset(nil)
	if w.Held() > spareBytesMax {
		return
	}
	o, err := parquetOptions(&p.opts)
	if err != nil {
		return
	}
	if len(e.spare) == sparesMax {
		e.spare = slices.Delete(e.spare, 0, 1)
	}
	e.spare = append(e.spare, spareEncoder{layout: p.layout, opts: o, enc: w})
}
