package grpcfeed

import (
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sluice/feeds"
	"sluice/feeds/wire"
	sluicev1 "sluice/proto/sluice/v1"
)

// Subscribe implements the call of that name.
func (s *Server) Subscribe(req *sluicev1.SubscribeRequest, stream grpc.ServerStreamingServer[sluicev1.SubscribeResponse]) error {
	ctx := stream.Context()
	if err := s.authorize(ctx, "subscribe", req.GetFeed()); err != nil {
		return err
	}
	r, err := requestOf(req)
	if err != nil {
		return err
	}
	sub, err := s.hub.Subscribe(ctx, r)
	if err != nil {
		return err
	}
	defer sub.Close() // nothing was written: an error of closing files is of no use to the client
	var batch []feeds.Delivery
	for {
		batch, err = sub.NextBatch(ctx, batch[:0])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		m := &message{}
		for i := range batch {
			m.add(batch[i].Bytes)
		}
		clear(batch) // holds no frame while it waits
		if err := stream.SendMsg(m); err != nil {
			return err
		}
	}
}

// requestOf checks a request and turns it into the hub's.
func requestOf(req *sluicev1.SubscribeRequest) (feeds.Request, error) {
	r := feeds.Request{Feed: req.GetFeed(), Consumer: req.GetConsumer()}
	var err error
	if r.Start, err = startOf(req.GetStart()); err != nil {
		return r, err
	}
	if r.Until, err = untilOf(req.GetUntil()); err != nil {
		return r, err
	}
	r.View.Columns = req.GetColumns()
	switch req.GetFormat() {
	case sluicev1.Format_FORMAT_UNSPECIFIED, sluicev1.Format_FORMAT_COLUMNS:
		r.View.Encoder = wire.Columns{}
	case sluicev1.Format_FORMAT_JSON:
		r.View.Encoder = wire.JSON{}
	default:
		return r, &feeds.RequestError{Field: "format", Why: fmt.Sprintf("%d is not known here", req.GetFormat())}
	}
	limits := req.GetLimits()
	r.View.MaxRows, r.View.MaxBytes = int(limits.GetMaxRows()), int(min(limits.GetMaxBytes(), feeds.LimitMaxBytes))
	if r.Linger, err = durationOf("limits.linger", limits.GetLinger()); err != nil {
		return r, err
	}
	r.Progress, err = durationOf("progress_interval", req.GetProgressInterval())
	return r, err
}

func durationOf(field string, d *durationpb.Duration) (time.Duration, error) {
	if d == nil {
		return 0, nil
	}
	if err := d.CheckValid(); err != nil || d.AsDuration() < 0 {
		return 0, &feeds.RequestError{Field: field, Why: fmt.Sprintf("%v is not a duration", d)}
	}
	return d.AsDuration(), nil
}

func timeOf(field string, t *timestamppb.Timestamp) (time.Time, error) {
	if err := t.CheckValid(); err != nil {
		return time.Time{}, &feeds.RequestError{Field: field, Why: err.Error()}
	}
	return t.AsTime(), nil
}

func startOf(st *sluicev1.Start) (*feeds.Start, error) {
	if st == nil {
		return nil, nil
	}
	var s feeds.Start
	var err error
	switch at := st.At.(type) {
	case *sluicev1.Start_Earliest:
		s.Mode = feeds.StartEarliest
	case *sluicev1.Start_Latest:
		s.Mode = feeds.StartLatest
	case *sluicev1.Start_Full:
		s.Mode = feeds.StartFull
	case *sluicev1.Start_Snapshot:
		s.Mode, s.Snapshot = feeds.StartSnapshot, at.Snapshot
		if at.Snapshot < 1 {
			err = &feeds.RequestError{Field: "start.snapshot", Why: fmt.Sprintf("%d: want at least 1", at.Snapshot)}
		}
	case *sluicev1.Start_Time:
		s.Mode = feeds.StartTime
		s.Time, err = timeOf("start.time", at.Time)
	case *sluicev1.Start_Tag:
		s.Mode, s.Tag = feeds.StartTag, at.Tag
	case *sluicev1.Start_Cursor:
		s.Mode = feeds.StartCursor
		s.Cursor, err = feeds.ParseCursor(at.Cursor)
	default:
		err = &feeds.RequestError{Field: "start", Why: "it says no position"}
	}
	return &s, err
}

func untilOf(un *sluicev1.Until) (u feeds.Until, err error) {
	if un == nil {
		return u, nil
	}
	switch at := un.At.(type) {
	case *sluicev1.Until_Latest:
		u.Latest = true
	case *sluicev1.Until_Snapshot:
		u.Snapshot = at.Snapshot
		if at.Snapshot < 1 {
			err = &feeds.RequestError{Field: "until.snapshot", Why: fmt.Sprintf("%d: want at least 1", at.Snapshot)}
		}
	case *sluicev1.Until_Time:
		u.Time, err = timeOf("until.time", at.Time)
	case *sluicev1.Until_Cursor:
		u.Cursor, err = feeds.ParseCursor(at.Cursor)
	default:
		err = &feeds.RequestError{Field: "until", Why: "it says no position"}
	}
	return u, err
}
