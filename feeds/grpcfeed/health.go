package grpcfeed

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"sluice/feeds"
	sluicev1 "sluice/proto/sluice/v1"
)

// healthInterval is how often a watch looks, beside being woken by the feed.
const healthInterval = time.Second

// feedPrefix makes a feed's name one of a service.
const feedPrefix = "feed/"

// healthServer tells the truth about the process ("") and each feed ("feed/NAME").
type healthServer struct {
	grpc_health_v1.UnimplementedHealthServer
	hub  *feeds.Hub
	done <-chan struct{}
}

// of returns the state of a service.
func (h *healthServer) of(service string) grpc_health_v1.HealthCheckResponse_ServingStatus {
	state := grpc_health_v1.HealthCheckResponse_SERVING
	switch name, isFeed := strings.CutPrefix(service, feedPrefix); {
	case isFeed:
		f, err := h.hub.Feed(name)
		if err != nil {
			return grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN
		}
		if f.Problem() != nil {
			state = grpc_health_v1.HealthCheckResponse_NOT_SERVING
		}
	case service != "" && service != sluicev1.FeedService_ServiceDesc.ServiceName && service != sluicev1.TableService_ServiceDesc.ServiceName:
		return grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN
	}
	if h.hub.Draining() {
		state = grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	return state
}

// Check implements the call of that name.
func (h *healthServer) Check(_ context.Context, req *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	state := h.of(req.GetService())
	if state == grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN {
		return nil, status.Errorf(codes.NotFound, "no service %q", req.GetService())
	}
	return &grpc_health_v1.HealthCheckResponse{Status: state}, nil
}

// List implements the call of that name.
func (h *healthServer) List(context.Context, *grpc_health_v1.HealthListRequest) (*grpc_health_v1.HealthListResponse, error) {
	out := &grpc_health_v1.HealthListResponse{Statuses: map[string]*grpc_health_v1.HealthCheckResponse{}}
	add := func(service string) {
		state := h.of(service)
		out.Statuses[service] = &grpc_health_v1.HealthCheckResponse{Status: state}
	}
	add("")
	add(sluicev1.FeedService_ServiceDesc.ServiceName)
	for _, f := range h.hub.Feeds() {
		add(feedPrefix + f.Name())
	}
	return out, nil
}

// Watch implements the call of that name.
func (h *healthServer) Watch(req *grpc_health_v1.HealthCheckRequest, stream grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]) error {
	timer := time.NewTicker(healthInterval)
	defer timer.Stop()
	last := grpc_health_v1.HealthCheckResponse_UNKNOWN
	for {
		var changed <-chan struct{}
		if f, err := h.hub.Feed(strings.TrimPrefix(req.GetService(), feedPrefix)); err == nil {
			_, changed = f.Health() // before its state is looked at: no change is missed
		}
		state := h.of(req.GetService())
		if state != last {
			if err := stream.Send(&grpc_health_v1.HealthCheckResponse{Status: state}); err != nil {
				return err
			}
			last = state
		}
		select {
		case <-changed:
		case <-timer.C:
		case <-h.done:
			return feeds.ErrDraining
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}
