package grpcfeed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"sluice/feeds"
	sluicev1 "sluice/proto/sluice/v1"
)

func TestEveryReasonHasACode(t *testing.T) {
	require.Len(t, codeOf, len(feeds.Reasons()))
	for _, r := range feeds.Reasons() {
		require.Contains(t, codeOf, r)
		require.NotEqual(t, codes.OK, codeOf[r])
	}
}

// The reasons are documented where clients look.
func TestReasonsAreDocumented(t *testing.T) {
	for _, file := range []string{"../../proto/sluice/v1/feed.proto", "../../proto/README.md"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, r := range feeds.Reasons() {
			if r != feeds.Canceled { // is not sent
				require.Contains(t, string(text), string(r), file)
			}
		}
	}
}

func TestToStatus(t *testing.T) {
	require.NoError(t, toStatus(nil))
	already := status.Error(codes.Aborted, "x")
	require.Equal(t, already, toStatus(already))
	require.Equal(t, codes.Canceled, status.Code(toStatus(fmt.Errorf("next: %w", context.Canceled))))
	require.Equal(t, codes.DeadlineExceeded, status.Code(toStatus(fmt.Errorf("next: %w", context.DeadlineExceeded))))
	require.Equal(t, codes.Internal, status.Code(toStatus(errors.New("disk is on fire"))))
	require.Equal(t, codes.Unavailable, status.Code(toStatus(feeds.ErrDraining)))
}

func TestCodec(t *testing.T) {
	want := &sluicev1.GetFeedRequest{Feed: "f"}
	parts, err := codec{}.Marshal(want)
	require.NoError(t, err)
	var got sluicev1.GetFeedRequest
	require.NoError(t, codec{}.Unmarshal(parts, &got))
	require.True(t, proto.Equal(want, &got))

	m := &message{}
	shared := []byte("shared")
	m.add(shared)
	m.add([]byte("!"))
	parts, err = codec{}.Marshal(m)
	require.NoError(t, err)
	require.Equal(t, "shared!", string(parts.Materialize()))
	require.Same(t, &shared[0], &parts[0].ReadOnlyData()[0], "the bytes are not copied")

	_, err = codec{}.Marshal(3)
	require.Error(t, err)
	require.Error(t, codec{}.Unmarshal(mem.BufferSlice{}, "x"))
	require.Error(t, codec{}.Unmarshal(mem.BufferSlice{mem.SliceBuffer{0xff}}, &got))
}
