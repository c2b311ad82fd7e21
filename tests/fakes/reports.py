"""A report that lacks nothing of the business framework, for models of the tests to write.

Reports with sources and citations are recorded in tests/evaluation.
"""


def business(title: str, said: str = "There is a market.", verdict: str = "PASS") -> str:
    return f"""# {title}

The need is real, the group is small, and what it would pay is not known yet.

## Problem
{said} Beginners lose every third colony over the winter, because they notice mites too late. They ask in
their club or do nothing, and both come too late.

## Market
| | Size | How it is derived | Basis |
|---|---|---|---|
| TAM | €15m a year | 48,000 hives × €310 | estimate |
| SAM | €4m a year | beginners, about a quarter | estimate |
| SOM | €0.2m a year | 600 subscribers × €330 | estimate |

Clubs that order together are the substitute. TAM, SAM and SOM hang on what one hive costs a year.

## Use cases and personas
Anna, 34, keeps two hives on her roof and wants to be told what to do this week. Karl, 61, keeps twelve and
would never subscribe. Serve Anna first.

## Feasibility
A roof is enough, and the law allows it. At €29 a box and €17 for goods and postage the contribution is €12.
The risk that could end this is that subscribers leave after the season.

## Verdict
**Verdict: {verdict}**

### Reasons
1. The problem is known, and nobody has counted those who would pay.
2. The season is short.

### First steps
1. Offer fifty boxes to three clubs: two weeks, €200. Stop below thirty orders."""
