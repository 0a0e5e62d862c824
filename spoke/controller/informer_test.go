package controller

import (
	"context"
	goruntime "runtime"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// TestStoppedWatch stops a filtered watch that has an event left. A goroutine that stays makes
// synctest fail.
func TestStoppedWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := watch.NewFake()
		lister := drainingLister{&toolscache.ListWatch{
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return watch.Filter(source, func(in watch.Event) (watch.Event, bool) { return in, true }), nil
			},
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return &corev1.PodList{}, nil },
		}}
		w, err := lister.WatchWithContext(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		source.Add(&corev1.Pod{})
		synctest.Wait()
		w.Stop()
	})
}

// runningInformer passes on the context that it is run with, and runs until it ends.
type runningInformer struct {
	toolscache.SharedIndexInformer
	given chan context.Context
}

func (i runningInformer) RunWithContext(ctx context.Context) {
	i.given <- ctx
	<-ctx.Done()
}

// TestInformerContext: what an informer derives from its context costs no goroutine, whatever context
// it is run with. Other tests do not run at the same time, as goroutines are those of the process.
func TestInformerContext(t *testing.T) {
	stop, given := make(chan struct{}), make(chan context.Context, 1)
	var running sync.WaitGroup
	running.Go(func() { informer{runningInformer{given: given}}.RunWithContext(wait.ContextForChannel(stop)) })
	ctx := <-given
	before := goruntime.NumGoroutine()
	for range 10 {
		_, cancel := context.WithCancel(ctx)
		defer cancel()
	}
	if after := goruntime.NumGoroutine(); after > before {
		t.Errorf("10 contexts cost %d goroutines", after-before)
	}
	close(stop)
	running.Wait()
}
