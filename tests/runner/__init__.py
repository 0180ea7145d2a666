"""Tests of the worker process `tad-runner`."""
