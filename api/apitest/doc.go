// Package apitest builds objects of the API for tests.
//
// What: a fluent builder for each kind, and the samples as objects. A builder
// starts from the smallest object that an API server accepts, so that a test
// names only what it is about:
//
//	app := apitest.App("my-ecommerce-app").
//		Namespace("production").
//		Database(v1.EnginePostgreSQL, "13.4", "100Gi").
//		Obj()
//
// Not: only tests import this. It fills in no defaults of the schema: those are
// the API server's, and a test of code that reads them should see both.
//
// Trade-offs: a builder has methods for what many tests set; With sets the rest.
// Obj returns a copy, so one builder may serve as the base of several objects.
package apitest
