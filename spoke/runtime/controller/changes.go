package controller

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Changes returns a predicate for objects of one type: of their updates, only those pass that
// changed reports. Other events pass.
func Changes[T client.Object](changed func(before, now T) bool) predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(T)
		now, isType := e.ObjectNew.(T)
		return !ok || !isType || changed(before, now)
	}}
}
