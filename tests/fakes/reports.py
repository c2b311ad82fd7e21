"""A report that lacks nothing of the business framework, for models of the tests to write."""


def business(title: str, said: str = "There is a market.", verdict: str = "PASS") -> str:
    return f"""# {title}

## Problem
{said}

## Market
TAM, SAM and SOM are small, and nobody has counted them.

## Use cases and personas
Anna keeps two hives on her roof.

## Feasibility
A roof is enough, and the law allows it.

## Verdict
{verdict}. There is little to lose by a first step."""
