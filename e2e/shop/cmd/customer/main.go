package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/shopfleet/shopfleet/e2e/shop/customer"
)

func main() {
	o := customer.Options{Client: &http.Client{}, Output: os.Stdout}
	flag.StringVar(&o.URL, "url", "http://127.0.0.1:8080", "where the shop's pages are")
	flag.IntVar(&o.Customers, "customers", 2, "how many order at the same time")
	flag.IntVar(&o.Orders, "orders", 0, "after how many orders each ends; 0 for never")
	flag.DurationVar(&o.Pause, "pause", 100*time.Millisecond, "how long each rests between orders")
	flag.DurationVar(&o.Client.Timeout, "timeout", 15*time.Second, "how long a customer waits for a page")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := customer.Run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "customer:", err)
		os.Exit(1)
	}
}
