package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strconv"
)

// Ports are chosen below the range that systems hand out to outgoing connections:
// a killed server must find its port free when it comes back.
const (
	firstPort    = 20000
	lastPort     = 32000
	portAttempts = 100
)

func choosePorts(ctx context.Context) (ports, error) {
	etcd, err := freePort(ctx, 0)
	if err != nil {
		return ports{}, err
	}
	server, err := freePort(ctx, etcd)
	if err != nil {
		return ports{}, err
	}
	return ports{Etcd: etcd, APIServer: server}, nil
}

func freePort(ctx context.Context, except int) (int, error) {
	for range portAttempts {
		offset, err := rand.Int(rand.Reader, big.NewInt(lastPort-firstPort))
		if err != nil {
			return 0, fmt.Errorf("choosing a port: %w", err)
		}
		port := firstPort + int(offset.Int64())
		if port != except && free(ctx, port) {
			return port, nil
		}
	}
	return 0, errors.New("choosing a port: none of many was free")
}

func free(ctx context.Context, port int) bool {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// taken reports whether another program listens on one of the ports.
func (p ports) taken(ctx context.Context) bool {
	return !free(ctx, p.Etcd) || !free(ctx, p.APIServer)
}
