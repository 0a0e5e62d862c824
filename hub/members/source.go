package members

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Source returns a controller source that adds, for each change of a member's state, the
// requests that the function returns for the member's name.
func Source[R comparable](f *Fleet, requests func(ctx context.Context, name string) []R) source.TypedSource[R] {
	return source.TypedFunc[R](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[R]) error {
		add := func(name string) {
			for _, request := range requests(ctx, name) {
				queue.Add(request)
			}
		}
		context.AfterFunc(ctx, f.OnChange(add))
		// Members that changed before the controller started.
		for _, name := range f.Names() {
			add(name)
		}
		return nil
	})
}
