package grpcfeed

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
)

// message is a message that is encoded already: shared bytes, end to end.
type message struct{ parts mem.BufferSlice }

// add appends bytes, which must not be changed any more.
func (m *message) add(b []byte) { m.parts = append(m.parts, mem.SliceBuffer(b)) }

// codec passes encoded messages through, so that one encoding serves every
// stream, and treats all others as protobuf.
type codec struct{}

// withCodec makes a server use the codec.
func withCodec() grpc.ServerOption { return grpc.ForceServerCodecV2(codec{}) }

var _ encoding.CodecV2 = codec{}

// Name implements [encoding.CodecV2]: on the wire it is protobuf.
func (codec) Name() string { return "proto" }

// Marshal implements [encoding.CodecV2]. The buffers of a passed-through message
// are not counted: the bytes live as long as anybody refers to them.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(*message); ok {
		return m.parts, nil
	}
	m, err := messageOf(v)
	if err != nil {
		return nil, err
	}
	b, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// Unmarshal implements [encoding.CodecV2].
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, err := messageOf(v)
	if err != nil {
		return err
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	return proto.Unmarshal(buf.ReadOnlyData(), m)
}

func messageOf(v any) (proto.Message, error) {
	switch m := v.(type) {
	case proto.Message:
		return m, nil
	case protoadapt.MessageV1:
		return protoadapt.MessageV2Of(m), nil
	}
	return nil, fmt.Errorf("%T is no message", v)
}
