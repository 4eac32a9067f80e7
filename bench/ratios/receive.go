package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	sluicev1 "sluice/proto/sluice/v1"
)

// dropped is a message that is received and not decoded.
type dropped struct{}

// dropCodec decodes nothing that is to be dropped.
type dropCodec struct{}

// Name implements encoding.CodecV2.
func (dropCodec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (dropCodec) Marshal(v any) (mem.BufferSlice, error) {
	b, err := proto.Marshal(v.(proto.Message))
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}

// Unmarshal implements encoding.CodecV2.
func (dropCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if _, ok := v.(*dropped); ok {
		return nil
	}
	return proto.Unmarshal(data.Materialize(), v.(proto.Message))
}

func dial(addr string) (*grpc.ClientConn, error) {
	return grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(dropCodec{}), grpc.MaxCallRecvMsgSize(16<<20)))
}

// subscription is what the gRPC roles ask for. Until 0 is never.
func subscription(from string, until int64, format string, maxRows uint32) *sluicev1.SubscribeRequest {
	req := &sluicev1.SubscribeRequest{
		Feed: feedName, Start: &sluicev1.Start{At: &sluicev1.Start_Latest{Latest: &sluicev1.Latest{}}},
		Limits: &sluicev1.Limits{MaxRows: maxRows},
	}
	if from == "earliest" {
		req.Start.At = &sluicev1.Start_Earliest{Earliest: &sluicev1.Earliest{}}
	}
	if until > 0 {
		req.Until = &sluicev1.Until{At: &sluicev1.Until_Snapshot{Snapshot: until}}
	}
	if format == "json" {
		req.Format = sluicev1.Format_FORMAT_JSON
	}
	return req
}

func subscribe(ctx context.Context, c *grpc.ClientConn, req *sluicev1.SubscribeRequest) (grpc.ClientStream, error) {
	st, err := c.NewStream(ctx, &sluicev1.FeedService_ServiceDesc.Streams[0], sluicev1.FeedService_Subscribe_FullMethodName)
	if err != nil {
		return nil, err
	}
	return st, errors.Join(st.SendMsg(req), st.CloseSend())
}

// integers reads arguments that are numbers.
func integers(args []string) ([]int, error) {
	out := make([]int, len(args))
	for i, a := range args {
		var err error
		if out[i], err = strconv.Atoi(a); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// receiveGRPC: ADDR FROM FORMAT STREAMS CONNECTIONS MAX-ROWS UNTIL WAIT. It
// receives and drops everything until the streams end. With WAIT it is ready when
// each stream has got its first message, else at once after connecting; and a line
// ends streams that have no end.
func receiveGRPC(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	n, err := integers(args[3:])
	if err != nil || len(n) != 5 {
		return errors.Join(err, errUsage)
	}
	streams, conns, maxRows, until, wait := n[0], n[1], n[2], n[3], n[4] == 1
	cs := make([]*grpc.ClientConn, conns)
	for i := range cs {
		if cs[i], err = dial(args[0]); err != nil {
			return err
		}
		defer cs[i].Close()
		cs[i].Connect()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !wait {
		if err := ready(out); err != nil {
			return err
		}
		if err := awaitGo(in); err != nil {
			return err
		}
	}
	all := make([]grpc.ClientStream, streams)
	for i := range all {
		if all[i], err = subscribe(ctx, cs[i%conns], subscription(args[1], int64(until), args[2], uint32(maxRows))); err != nil {
			return err
		}
	}
	if wait {
		for _, st := range all {
			if err := st.RecvMsg(&dropped{}); err != nil {
				return err
			}
		}
		if err := ready(out); err != nil {
			return err
		}
	}
	if until == 0 {
		return awaitGo(in)
	}
	var g group
	for _, st := range all {
		g.run(func() error { return drop(st) })
	}
	return g.wait()
}

// drop receives until the stream ends.
func drop(st grpc.ClientStream) error {
	var d dropped
	for {
		if err := st.RecvMsg(&d); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// group runs functions and joins their errors.
type group struct {
	wg  sync.WaitGroup
	mu  sync.Mutex
	err error
}

func (g *group) run(f func() error) {
	g.wg.Go(func() {
		err := f()
		g.mu.Lock()
		g.err = errors.Join(g.err, err)
		g.mu.Unlock()
	})
}

func (g *group) wait() error {
	g.wg.Wait()
	return g.err
}

// receiveWebSocket: ADDR CLIENTS UNTIL. It subscribes from the newest snapshot
// on, a row a message, and drops all bytes until the gateway hangs up; without an
// end, until it gets a line.
func receiveWebSocket(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	n, err := integers(args[1:])
	if err != nil || len(n) != 2 {
		return errors.Join(err, errUsage)
	}
	clients, until := n[0], n[1]
	d := websocket.Dialer{Subprotocols: []string{"sluice.v1.json"}, ReadBufferSize: 4096, WriteBufferSize: 512}
	request := map[string]any{"type": "subscribe", "feed": feedName, "start": "latest", "maxRows": 1, "progressMillis": 60_000}
	if until > 0 {
		request["until"] = fmt.Sprintf("snapshot:%d", until)
	}
	var g group
	for range clients {
		c, _, err := d.DialContext(ctx, "ws://"+args[0]+"/v1/ws", nil)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.WriteJSON(request); err != nil {
			return err
		}
		if _, first, err := c.ReadMessage(); err != nil {
			return err
		} else if !json.Valid(first) {
			return fmt.Errorf("first message is no JSON: %s", first)
		}
		if until > 0 {
			g.run(func() error {
				_, err := io.Copy(io.Discard, c.UnderlyingConn())
				return err
			})
		}
	}
	if err := ready(out); err != nil {
		return err
	}
	if until == 0 {
		return awaitGo(in)
	}
	return g.wait()
}

// seen is when a snapshot was there: nanoseconds since 1970.
type seen struct {
	Snapshot int64 `json:"snapshot"`
	Nanos    int64 `json:"nanos"`
}

// receiveTimes: ADDR UNTIL. It tells when it had all rows of each commit.
func receiveTimes(ctx context.Context, args []string, _ io.Reader, out io.Writer) error {
	n, err := integers(args[1:])
	if err != nil || len(n) != 1 {
		return errors.Join(err, errUsage)
	}
	c, err := dial(args[0])
	if err != nil {
		return err
	}
	defer c.Close()
	st, err := subscribe(ctx, c, subscription("latest", int64(n[0]), "columns", 1024))
	if err != nil {
		return err
	}
	var times []seen
	for first := true; ; first = false {
		var m sluicev1.SubscribeResponse
		err := st.RecvMsg(&m)
		now := time.Now().UnixNano()
		if errors.Is(err, io.EOF) {
			return json.NewEncoder(out).Encode(times)
		}
		if err != nil {
			return err
		}
		if first {
			if err := ready(out); err != nil {
				return err
			}
		}
		for _, f := range m.Frames {
			if end := f.GetCommitEnd(); end != nil {
				times = append(times, seen{end.Snapshot, now})
			}
		}
	}
}
