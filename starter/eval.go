package main

type evalCommand struct{}
