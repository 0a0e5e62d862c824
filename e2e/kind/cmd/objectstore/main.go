package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/cloud/fake/s3"
)

// headerTimeout limits the time to read the header of a request.
const headerTimeout = 30 * time.Second

func main() {
	listen := flag.String("listen", ":8443", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := serve(ctx, *listen)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve serves until ctx is done.
func serve(ctx context.Context, address string) error {
	certificate, err := tls.X509KeyPair([]byte(os.Getenv("OBJECTS_CERT")), []byte(os.Getenv("OBJECTS_CERT_KEY")))
	if err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	store := s3.New(bucket.NewStore(clock.RealClock{}), s3.Options{
		Clock: clock.RealClock{}, Bucket: os.Getenv("OBJECTS_BUCKET"), Region: os.Getenv("OBJECTS_REGION"),
		Keys: []s3.Key{{ID: os.Getenv("OBJECTS_KEY_ID"), Secret: os.Getenv("OBJECTS_KEY")}},
	})
	server := &http.Server{
		Addr: address, Handler: store, ReadHeaderTimeout: headerTimeout,
		TLSConfig:   &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServeTLS("", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
