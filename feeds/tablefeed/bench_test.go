package tablefeed_test

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
	"sluice/feeds/grpcfeed"
	"sluice/feeds/tablefeed"
	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	sluicev1 "sluice/proto/sluice/v1"
	"sluice/snapshotreader"
	"sluice/tablewriter"
)

// receiverEnv makes the test binary a receiver, so that the CPU seconds that a
// benchmark counts are the gateway's alone.
const receiverEnv = "TABLEFEED_RECEIVER"

func TestMain(m *testing.M) {
	if args := os.Getenv(receiverEnv); args != "" {
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

// receive is the child: ADDR FORMAT ROWS.
func receive(a []string) error {
	c, err := grpc.NewClient(a[0], grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(discard{}), grpc.MaxCallRecvMsgSize(16<<20)))
	if err != nil {
		return err
	}
	format, err := strconv.Atoi(a[1])
	if err != nil {
		return err
	}
	rows, err := strconv.Atoi(a[2])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	st, err := sluicev1.NewFeedServiceClient(c).Subscribe(context.Background(), &sluicev1.SubscribeRequest{
		Feed: "f", Format: sluicev1.Format(format), Limits: &sluicev1.Limits{MaxRows: uint32(rows)},
		Start: &sluicev1.Start{At: &sluicev1.Start_Earliest{Earliest: &sluicev1.Earliest{}}},
		Until: &sluicev1.Until{At: &sluicev1.Until_Latest{Latest: &sluicev1.Latest{}}},
	})
	for err == nil {
		_, err = st.Recv()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func cpuTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// writeOrders makes a table of orders without a changelog producer: what is
// appended is what is delivered.
func writeOrders(b *testing.B, rows int) *paimon.Catalog {
	cat := paimon.NewCatalog(local.New(b.TempDir(), local.Options{NoSync: true}), "wh")
	require.NoError(b, cat.CreateDatabase(b.Context(), "g"))
	t, err := cat.CreateTable(b.Context(), "g.t", paimon.SchemaSpec{
		Schema:  paimon.ColumnsSpec{Fields: []string{"order_id BIGINT NOT NULL", "user_id BIGINT", "status STRING", "amount DECIMAL(10, 2)", "ts TIMESTAMP(3)", "dt STRING"}, PK: []string{"order_id"}},
		Options: map[string]string{"bucket": "1"},
	})
	require.NoError(b, err)
	w, err := tablewriter.Open(b.Context(), t, tablewriter.Options{User: "bench"})
	require.NoError(b, err)
	const part = 10_000
	for at := 0; at < rows; at += part {
		c := &rowdata.Changes{Batch: *rowdata.NewBatch(w.Type(), part)}
		for i := at; i < at+part; i++ {
			c.Cols[0].AppendI64(1_000_000 + int64(i)*3)
			c.Cols[1].AppendI64(int64(i) * 7919 % 20_000)
			c.Cols[2].AppendString([]string{"CREATED", "PAID", "PACKED", "SHIPPED", "DELIVERED", "CANCELLED"}[i*7%6])
			c.Cols[3].AppendI64(100 + int64(i)*7919%9_999_900)
			c.Cols[4].AppendI64(1_764_000_000_000 + int64(i)*20)
			c.Cols[5].AppendString("2026-11-28")
			c.CloseRow()
		}
		_, err := w.Write(b.Context(), c, tablewriter.Position{})
		require.NoError(b, err)
	}
	require.NoError(b, w.Close(b.Context()))
	return cat
}

// BenchmarkTailGRPC reads a table of a million rows and streams it to one
// subscriber: the work of PipelineTailGRPC of the limits.
func BenchmarkTailGRPC(b *testing.B) {
	const rows = 1_000_000
	cat := writeOrders(b, rows)
	for _, format := range []sluicev1.Format{sluicev1.Format_FORMAT_COLUMNS, sluicev1.Format_FORMAT_JSON} {
		for _, batch := range []int{1, 100, 1000} {
			b.Run(fmt.Sprintf("format=%s/batch=%d", strings.ToLower(format.String()[7:]), batch), func(b *testing.B) {
				hub, err := feeds.NewHub(feeds.Options{})
				require.NoError(b, err)
				f, err := hub.Add("f", tablefeed.New(cat, "g.t", "", snapshotreader.Options{}), nil)
				require.NoError(b, err)
				l, err := net.Listen("tcp", "127.0.0.1:0")
				require.NoError(b, err)
				srv := grpcfeed.New(hub, grpcfeed.Options{})
				served := make(chan error, 1)
				go func() { served <- srv.Serve(l) }()
				var cpu time.Duration
				for b.Loop() {
					cmd := exec.Command(os.Args[0])
					cmd.Env = append(os.Environ(), receiverEnv+"="+fmt.Sprint(l.Addr(), " ", int(format), " ", batch), "GOMAXPROCS="+strconv.Itoa(runtime.GOMAXPROCS(0)))
					cmd.Stderr = os.Stderr
					out, err := cmd.StdoutPipe()
					require.NoError(b, err)
					require.NoError(b, cmd.Start())
					require.True(b, bufio.NewScanner(out).Scan())
					c0 := cpuTime()
					require.NoError(b, cmd.Wait())
					cpu += cpuTime() - c0
				}
				require.EqualValues(b, b.N*rows, f.Stats().RowsDelivered)
				b.ReportMetric(float64(b.N*rows)/cpu.Seconds(), "events/cpu-s")
				b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds(), "events/s")
				b.ReportMetric(0, "ns/op")
				ctx, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), 5*time.Second)
				defer cancel()
				srv.Shutdown(ctx)
				require.NoError(b, <-served)
				require.NoError(b, hub.Close())
			})
		}
	}
}
