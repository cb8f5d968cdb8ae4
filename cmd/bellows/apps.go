package main

import (
	"bellows/app"
	"bellows/app/lda"
	"bellows/app/mf"
	"bellows/app/mlr"
)

// applications is everything that bellows can train, in the order in which help lists it.
var applications = []app.Application{mf.App{}, mlr.New(), lda.New()}

// application is the one of that name, or nil.
func application(name string) app.Application {
	for _, a := range applications {
		if a.Describe().Name == name {
			return a
		}
	}
	return nil
}

func applicationNames() []string {
	var names []string
	for _, a := range applications {
		names = append(names, a.Describe().Name)
	}
	return names
}
