"""Why a model cannot be fitted to what was measured."""

from __future__ import annotations

from campaign.core.messages import Message

TOO_FEW_POINTS = Message("found {found} points; the model needs {needed} or more", found=7, needed=8)
ONE_COUNT_OR_SIZE = Message("found one number of pairs or one size only; the model needs several of both")
TIME_NOT_ABOVE_ZERO = Message("found a time that is not above zero; the model needs times above zero")
RATE_NOT_ABOVE_ZERO = Message(
    "found rate {rate} with {processes} processes; the model needs rates above zero", rate=0.0, processes=16
)
TOO_FEW_COUNTS = Message("found {found} process counts; the model needs {needed} or more", found=3, needed=4)
