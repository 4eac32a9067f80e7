package grpcfeed_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"sluice/feeds"
	"sluice/feeds/feedtest"
	"sluice/feeds/grpcfeed"
	"sluice/paimon/rowdata"
	sluicev1 "sluice/proto/sluice/v1"
)

// childEnv makes the test binary a receiver, so that the CPU seconds that a
// benchmark counts are the gateway's alone.
const childEnv = "GRPCFEED_RECEIVER"

func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		if err := receive(strings.Fields(args)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// discard is a codec that drops what it receives.
type discard struct{}

func (discard) Name() string { return "proto" }
func (discard) Marshal(v any) (mem.BufferSlice, error) {
	b, err := proto.Marshal(v.(proto.Message))
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}
func (discard) Unmarshal(mem.BufferSlice, any) error { return nil }

// receive is the child: ADDR STREAMS CONNECTIONS FORMAT ROWS UNTIL START. It says
// ready when all streams have their first message.
func receive(a []string) error {
	number := func(i int) int { n, _ := strconv.Atoi(a[i]); return n }
	streams, conns := number(1), number(2)
	var cs []*grpc.ClientConn
	for range conns {
		c, err := grpc.NewClient(a[0], grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(discard{}), grpc.MaxCallRecvMsgSize(16<<20)))
		if err != nil {
			return err
		}
		cs = append(cs, c)
	}
	req := &sluicev1.SubscribeRequest{
		Feed: "f", Format: sluicev1.Format(number(3)), Limits: &sluicev1.Limits{MaxRows: uint32(number(4))},
		Until: &sluicev1.Until{At: &sluicev1.Until_Snapshot{Snapshot: int64(number(5))}},
	}
	if a[6] == "earliest" {
		req.Start = earliest()
	}
	var wg, ready sync.WaitGroup
	ready.Add(streams)
	failed := make(chan error, streams)
	for i := range streams {
		wg.Go(func() {
			st, err := sluicev1.NewFeedServiceClient(cs[i%conns]).Subscribe(context.Background(), req)
			if err == nil {
				_, err = st.Recv()
			}
			ready.Done()
			for err == nil {
				_, err = st.Recv()
			}
			if !errors.Is(err, io.EOF) {
				failed <- err
			}
		})
	}
	ready.Wait()
	fmt.Println("ready")
	wg.Wait()
	close(failed)
	return <-failed
}

func startReceiver(b *testing.B, args ...any) (wait func()) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.TrimSpace(fmt.Sprintln(args...)), "GOMAXPROCS="+strconv.Itoa(runtime.GOMAXPROCS(0)))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	sc := bufio.NewScanner(out)
	require.True(b, sc.Scan() && sc.Text() == "ready", "the receiver did not start")
	return func() { require.NoError(b, cmd.Wait()) }
}

func cpuTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// orders is rows of the benchmark table: BIGINT key and user, two texts, DECIMAL
// and TIMESTAMP.
func orders(n int) *rowdata.Changes {
	row := &rowdata.RowType{}
	for i, c := range []string{"order_id BIGINT NOT NULL", "user_id BIGINT", "status STRING", "amount DECIMAL(10, 2)", "ts TIMESTAMP(3)", "dt STRING"} {
		name, typ, _ := strings.Cut(c, " ")
		t, err := rowdata.ParseType(typ)
		if err != nil {
			panic(err)
		}
		row.Fields = append(row.Fields, rowdata.Field{ID: i, Name: name, Type: t})
	}
	c := &rowdata.Changes{Batch: *rowdata.NewBatch(row, n)}
	for i := range n {
		c.Cols[0].AppendI64(1_000_000 + int64(i)*3)
		c.Cols[1].AppendI64(int64(i) % 20_000)
		c.Cols[2].AppendString([]string{"CREATED", "PAID", "PACKED", "SHIPPED", "DELIVERED", "CANCELLED"}[i%6])
		c.Cols[3].AppendI64(100 + int64(i)*7919%9_999_900)
		c.Cols[4].AppendI64(1_764_000_000_000 + int64(i)*20)
		c.Cols[5].AppendString("2026-11-28")
		c.CloseRow()
	}
	return c
}

// bench serves a table of orders on loopback.
func bench(b *testing.B, o feeds.Options) (tab *feedtest.Table, rows *rowdata.Changes, addr string, hub *feeds.Hub) {
	rows = orders(4000)
	tab = feedtest.NewTable(1, &feeds.Schema{ID: 0, Row: rows.Type})
	hub, err := feeds.NewHub(o)
	require.NoError(b, err)
	_, err = hub.Add("f", tab, nil)
	require.NoError(b, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	srv := grpcfeed.New(hub, grpcfeed.Options{})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), 5*time.Second)
		defer cancel()
		srv.Shutdown(ctx)
		require.NoError(b, <-served)
		require.NoError(b, hub.Close())
	})
	return tab, rows, l.Addr().String(), hub
}

var formats = []sluicev1.Format{sluicev1.Format_FORMAT_COLUMNS, sluicev1.Format_FORMAT_JSON}

// Many subscribers of new commits: decoded and encoded once, sent to all.
func BenchmarkFanout(b *testing.B) {
	const commits = 250
	for _, format := range formats {
		for _, streams := range []int{1, 100} {
			for _, batch := range []int{1, 100, 1000} {
				b.Run(fmt.Sprintf("format=%s/streams=%d/batch=%d", strings.ToLower(format.String()[7:]), streams, batch), func(b *testing.B) {
					tab, rows, addr, hub := bench(b, feeds.Options{})
					size := 4000
					if batch == 1 {
						size = 40
					}
					part := &rowdata.Changes{Batch: *rowdata.NewBatch(rows.Type, size)}
					part.AppendRange(&rows.Batch, 0, size)
					var cpu time.Duration
					begin := 0
					for b.Loop() {
						wait := startReceiver(b, addr, streams, min(streams, 10), int(format), batch, begin+commits, "latest")
						c0 := cpuTime()
						for range commits {
							tab.Commit(feedtest.Unit{Rows: part})
						}
						wait()
						cpu += cpuTime() - c0
						begin += commits
					}
					n := float64(b.N) * float64(commits*size*streams)
					b.ReportMetric(n/cpu.Seconds(), "deliveries/cpu-s")
					b.ReportMetric(n/b.Elapsed().Seconds(), "deliveries/s")
					f, err := hub.Feed("f")
					require.NoError(b, err)
					st := f.Stats()
					b.ReportMetric(float64(st.Bytes)/float64(st.RowsDelivered), "bytes/row")
					b.ReportMetric(float64(st.ReaderRows)/float64(st.RowsDelivered), "own-reads")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// Many subscribers of what is there already: how much of it do they read together?
func BenchmarkReplay(b *testing.B) {
	const commits = 250
	for _, format := range formats {
		b.Run(fmt.Sprintf("format=%s/streams=100/batch=100", strings.ToLower(format.String()[7:])), func(b *testing.B) {
			tab, rows, addr, hub := bench(b, feeds.Options{})
			for range commits {
				tab.Commit(feedtest.Unit{Rows: rows})
			}
			var cpu time.Duration
			for b.Loop() {
				c0 := cpuTime()
				startReceiver(b, addr, 100, 10, int(format), 100, commits, "earliest")()
				cpu += cpuTime() - c0
			}
			n := float64(b.N) * float64(commits*rows.N*100)
			f, err := hub.Feed("f")
			require.NoError(b, err)
			st := f.Stats()
			b.ReportMetric(n/cpu.Seconds(), "deliveries/cpu-s")
			b.ReportMetric(n/b.Elapsed().Seconds(), "deliveries/s")
			b.ReportMetric(float64(st.ReaderRows)/float64(st.RowsDelivered), "own-reads")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// What streams that read nothing hold in memory, goroutine stacks included.
func BenchmarkIdleStreamMemory(b *testing.B) {
	for _, streams := range []int{1000} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			tab, rows, addr, _ := bench(b, feeds.Options{})
			part := &rowdata.Changes{Batch: *rowdata.NewBatch(rows.Type, 1)}
			part.AppendRange(&rows.Batch, 0, 1)
			for b.Loop() {
				st, err := tab.Status(b.Context())
				require.NoError(b, err)
				before := memory()
				wait := startReceiver(b, addr, streams, 10, int(sluicev1.Format_FORMAT_COLUMNS), 100, int(st.Latest)+1, "latest")
				b.ReportMetric(float64(memory()-before)/float64(streams), "bytes/stream")
				tab.Commit(feedtest.Unit{Rows: part})
				wait()
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func memory() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
